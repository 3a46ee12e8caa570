#!/usr/bin/env bash
# Shows the last 50 errors that the journal has of the last 24 hours. Exit code 1: there are some. Changes nothing.
set -u
if ! command -v journalctl >/dev/null 2>&1; then
  echo 'journalctl is not installed'
  exit 2
fi
errors=$(journalctl --priority=err --since='24 hours ago' --no-pager --quiet --output=short-iso 2>/dev/null | tail -n 50)
if [ -z "$errors" ]; then
  echo 'No errors in the last 24 hours'
  exit 0
fi
echo "$errors"
exit 1
