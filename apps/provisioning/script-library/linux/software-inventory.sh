#!/usr/bin/env bash
# Lists the installed packages with their versions. Changes nothing.
set -u
if command -v dpkg-query >/dev/null 2>&1; then
  dpkg-query --show --showformat='${binary:Package} ${Version}\n'
elif command -v rpm >/dev/null 2>&1; then
  rpm --query --all --queryformat '%{NAME} %{VERSION}-%{RELEASE}\n' | sort
elif command -v apk >/dev/null 2>&1; then
  apk info -v | sort
elif command -v pacman >/dev/null 2>&1; then
  pacman -Q
else
  echo 'No known package manager'
  exit 2
fi
