#!/usr/bin/env bash
# Lists the applications with their versions. Changes nothing.
set -u
if ! command -v defaults >/dev/null 2>&1; then
  echo 'defaults is not there: this is no macOS'
  exit 2
fi
for application in /Applications/*.app /Applications/*/*.app /System/Applications/*.app; do
  [ -d "$application" ] || continue
  version=$(defaults read "$application/Contents/Info" CFBundleShortVersionString 2>/dev/null)
  echo "$(basename "$application" .app) ${version:-unknown}"
done | sort
exit 0
