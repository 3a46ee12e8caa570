#!/usr/bin/env bash
# Shows System Integrity Protection and Gatekeeper. Exit code 1: one of them is off. Changes nothing.
set -u
if ! command -v csrutil >/dev/null 2>&1 || ! command -v spctl >/dev/null 2>&1; then
  echo 'csrutil and spctl are not there: this is no macOS'
  exit 2
fi
integrity=$(csrutil status)
gatekeeper=$(spctl --status 2>&1)
echo "$integrity"
echo "Gatekeeper: $gatekeeper"
case $integrity in *enabled*) ;; *) exit 1 ;; esac
case $gatekeeper in *enabled*) exit 0 ;; *) exit 1 ;; esac
