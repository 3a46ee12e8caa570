#!/usr/bin/env bash
# Shows the state of FileVault. Exit code 1: it is off. Changes nothing.
set -u
if ! command -v fdesetup >/dev/null 2>&1; then
  echo 'fdesetup is not there: this is no macOS'
  exit 2
fi
state=$(fdesetup status)
echo "$state"
case $state in *'FileVault is On'*) exit 0 ;; *) exit 1 ;; esac
