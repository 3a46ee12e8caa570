#!/usr/bin/env bash
# Shows whether the computer started with Secure Boot. Exit code 1: it did not. Changes nothing.
set -u
if [ ! -d /sys/firmware/efi ]; then
  echo 'Secure Boot: not available (no UEFI)'
  exit 2
fi
for file in /sys/firmware/efi/efivars/SecureBoot-*; do
  [ -r "$file" ] || continue
  value=$(od -An -t u1 -j 4 -N 1 "$file" | tr -d ' ')
  if [ "$value" = 1 ]; then
    echo 'Secure Boot: enabled'
    exit 0
  fi
  echo 'Secure Boot: disabled'
  exit 1
done
echo 'Secure Boot: not known'
exit 2
