"""An admission webhook that adds a label to each new Pod, with the standard library of Python."""
import base64, http.server, json, ssl

class Webhook(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["request"]
        labels = request["object"]["metadata"].get("labels", {})  # absent if the Pod has none
        patch = [{"op": "add", "path": "/metadata/labels", "value": {**labels, "checked": "yes"}}]
        answer = {"uid": request["uid"], "allowed": True, "patchType": "JSONPatch",
                  "patch": base64.b64encode(json.dumps(patch).encode()).decode()}
        body = json.dumps({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": answer}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

server = http.server.ThreadingHTTPServer(("127.0.0.1", 18443), Webhook)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain("tls.crt", "tls.key")
server.socket = context.wrap_socket(server.socket, server_side=True)
server.serve_forever()
