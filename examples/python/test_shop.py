"""Tests on a control plane of their own: python3 -m unittest, or pytest."""

import json
import os
import subprocess
import unittest

PROGRAM = os.environ.get("CTRLPLANE", "ctrlplane")


class ControlPlane:
    """Runs until close, or until this process ends."""

    def __init__(self, *flags):
        self.process = subprocess.Popen(
            [PROGRAM, "child", *flags], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        line = self.process.stdout.readline()
        if not line:  # stderr says why
            raise RuntimeError(f"ctrlplane has exited with {self.process.wait()}")
        self.ready = json.loads(line)

    def run(self, *args):
        command = [PROGRAM, "--data-dir", self.ready["dataDir"], *args]
        return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout

    def close(self):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


class ShopTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.plane = ControlPlane("--nodes", "1")
        cls.addClassCleanup(cls.plane.close)

    def setUp(self):
        self.plane.run("reset")

    def test_rollout(self):
        self.plane.run("kubectl", "create", "deployment", "web", "--image=web", "--replicas=2")
        self.plane.run("wait", "deployment/web")
        pods = json.loads(self.plane.run("kubectl", "get", "pods", "-o", "json"))["items"]
        self.assertEqual([pod["status"]["phase"] for pod in pods], ["Running", "Running"])

    def test_begins_without_objects_of_other_tests(self):
        self.assertEqual(self.plane.run("kubectl", "get", "deployments", "-o", "name"), "")


if __name__ == "__main__":
    unittest.main()
