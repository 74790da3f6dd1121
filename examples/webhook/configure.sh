#!/bin/sh
# Makes a certificate for webhook.py, tls.crt and tls.key, and its configuration, webhook.yaml. The certificate is also for a
# Service checker in the namespace default.
set -e
openssl req -x509 -newkey rsa:2048 -nodes -days 365 -keyout tls.key -out tls.crt -subj /CN=checker \
	-addext "subjectAltName=IP:127.0.0.1,DNS:checker.default.svc"
cat >webhook.yaml <<EOF
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingWebhookConfiguration
metadata: {name: checker}
webhooks:
- name: checker.example.com
  admissionReviewVersions: [v1]
  sideEffects: None
  clientConfig:
    url: https://127.0.0.1:18443/
    caBundle: $(base64 <tls.crt | tr -d '\n')
  rules:
  - {apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}
EOF
