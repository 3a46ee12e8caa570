#!/usr/bin/env bash
# Shows the DNS servers, and whether a name resolves. Exit code 1: no server, or the name does not resolve. Changes nothing.
set -u
name=${1:-example.com}
if command -v scutil >/dev/null 2>&1; then
  servers=$(scutil --dns | awk '/nameserver\[/ { print $3 }' | sort -u)
elif command -v resolvectl >/dev/null 2>&1 && resolvectl dns >/dev/null 2>&1; then
  servers=$(resolvectl dns | sed 's/^[^:]*: *//' | tr ' ' '\n' | sort -u | sed '/^$/d')
else
  servers=$(awk '$1 == "nameserver" { print $2 }' /etc/resolv.conf 2>/dev/null | sort -u)
fi
echo 'DNS servers:'
echo "${servers:-none}" | sed 's/^/  /'
[ -n "$servers" ] || exit 1
if command -v getent >/dev/null 2>&1; then
  answer=$(getent hosts "$name" | awk '{ print $1 }' | head -n 1)
else
  answer=$(dscacheutil -q host -a name "$name" 2>/dev/null | awk '/address:/ { print $2; exit }')
fi
echo "$name: ${answer:-does not resolve}"
[ -n "$answer" ] || exit 1
