#!/usr/bin/env bash
# Lists certificates of this server that have expired or expire within 30 days. Exit code 1: there are some. Changes nothing.
set -u
days=30
if ! command -v openssl >/dev/null 2>&1; then
  echo 'openssl is not installed'
  exit 2
fi
status=0
checked=0
for file in /etc/letsencrypt/live/*/cert.pem /etc/pki/tls/certs/*.crt /etc/ssl/*.crt /etc/ssl/*.pem \
  /etc/nginx/ssl/*.crt /etc/nginx/ssl/*.pem /etc/apache2/ssl/*.crt /etc/httpd/ssl/*.crt; do
  [ -f "$file" ] && [ -r "$file" ] || continue
  end=$(openssl x509 -noout -enddate -in "$file" 2>/dev/null | cut -d= -f2)
  [ -n "$end" ] || continue
  checked=$((checked + 1))
  if ! openssl x509 -noout -checkend "$((days * 86400))" -in "$file" >/dev/null 2>&1; then
    echo "$file: ends $end"
    status=1
  fi
done
echo "Checked certificates: $checked"
exit "$status"
