#!/usr/bin/env bash
# Shows the state of the application firewall. Exit code 1: it is off. Changes nothing.
set -u
tool=/usr/libexec/ApplicationFirewall/socketfilterfw
if [ ! -x "$tool" ]; then
  echo 'socketfilterfw is not there: this is no macOS'
  exit 2
fi
state=$("$tool" --getglobalstate)
echo "$state"
"$tool" --getstealthmode
case $state in *enabled*) exit 0 ;; *) exit 1 ;; esac
