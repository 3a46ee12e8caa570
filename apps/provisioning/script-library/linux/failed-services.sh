#!/usr/bin/env bash
# Lists systemd units that have failed. Exit code 1: there are some. Changes nothing.
set -u
if ! command -v systemctl >/dev/null 2>&1 || [ ! -d /run/systemd/system ]; then
  echo 'systemd does not run here'
  exit 2
fi
failed=$(systemctl list-units --state=failed --plain --no-legend --no-pager)
if [ -z "$failed" ]; then
  echo 'No unit has failed'
  exit 0
fi
echo "$failed"
exit 1
