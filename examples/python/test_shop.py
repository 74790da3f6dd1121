"""Tests on a control plane of their own: python3 -m unittest, or pytest."""

import json
import os
import ssl
import subprocess
import unittest
import urllib.request

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
        tls = ssl.create_default_context(cafile=self.ready["caFile"])
        tls.load_cert_chain(self.ready["certFile"], self.ready["keyFile"])
        self.http = urllib.request.build_opener(
            urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=tls)
        )

    def run(self, *args):
        command = [PROGRAM, "--data-dir", self.ready["dataDir"], *args]
        return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout

    def call(self, method, path, body=None):
        """Sends a request of docs/http.md; an answer with an error raises HTTPError."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.ready["url"] + "/ctrlplane/v1" + path, data, method=method)
        with self.http.open(request, timeout=90) as answer:
            return json.load(answer)

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
        self.plane.call("POST", "/reset")
        self.plane.call("DELETE", "/interventions")

    def test_rollout(self):
        self.plane.run("kubectl", "create", "deployment", "web", "--image=web", "--replicas=2")
        self.plane.run("wait", "deployment/web")
        pods = json.loads(self.plane.run("kubectl", "get", "pods", "-o", "json"))["items"]
        self.assertEqual([pod["status"]["phase"] for pod in pods], ["Running", "Running"])

    def test_pods_wait_for_a_paused_controller(self):
        self.plane.call("POST", "/controllers/pause", {"names": ["replicaset"]})
        self.plane.run("kubectl", "create", "deployment", "web", "--image=web")
        write = self.plane.call("POST", "/controllers/step", {"names": ["replicaset"]})
        self.assertEqual((write["verb"], write["object"]["kind"], write["status"]), ("create", "Pod", 201))
        self.plane.call("POST", "/controllers/resume", {"names": ["replicaset"]})
        settled = self.plane.call("GET", "/settled?timeout=60s")
        self.assertTrue(settled["settled"], settled["remaining"])

    def test_begins_without_objects_of_other_tests(self):
        self.assertEqual(self.plane.run("kubectl", "get", "deployments", "-o", "name"), "")


if __name__ == "__main__":
    unittest.main()
