#!/usr/bin/env bash
# Lists the members of the group of administrators. Changes nothing.
set -u
if ! command -v dscl >/dev/null 2>&1; then
  echo 'dscl is not there: this is no macOS'
  exit 2
fi
dscl . -read /Groups/admin GroupMembership | sed 's/^GroupMembership: //' | tr ' ' '\n'
exit 0
