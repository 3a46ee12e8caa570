#!/usr/bin/env bash
# Lists the pending updates of macOS. Exit code 1: there are some. Changes nothing.
set -u
if ! command -v softwareupdate >/dev/null 2>&1; then
  echo 'softwareupdate is not there: this is no macOS'
  exit 2
fi
list=$(softwareupdate --list 2>&1)
echo "$list"
case $list in *'* Label:'*) exit 1 ;; *) exit 0 ;; esac
