#!/usr/bin/env bash
# Shows whether a host firewall is active. Needs root. Exit code 1: none is. Changes nothing.
set -u
known=0
if command -v ufw >/dev/null 2>&1; then
  known=1
  if ufw status 2>/dev/null | grep -q 'Status: active'; then echo 'ufw is active'; exit 0; fi
fi
if command -v firewall-cmd >/dev/null 2>&1; then
  known=1
  if firewall-cmd --state 2>/dev/null | grep -q '^running'; then echo 'firewalld is active'; exit 0; fi
fi
if command -v nft >/dev/null 2>&1; then
  known=1
  rules=$(nft list ruleset 2>/dev/null | grep -cE '\b(drop|reject|policy drop)\b' || true)
  if [ "${rules:-0}" -gt 0 ]; then echo "nftables drops packets ($rules rules)"; exit 0; fi
fi
if command -v iptables >/dev/null 2>&1; then
  known=1
  rules=$(iptables --list-rules 2>/dev/null | grep -cE -- '-P INPUT DROP|-j (DROP|REJECT)' || true)
  if [ "${rules:-0}" -gt 0 ]; then echo "iptables drops packets ($rules rules)"; exit 0; fi
fi
[ "$known" -eq 1 ] || { echo 'No known firewall is installed'; exit 1; }
if [ "$(id -u)" -ne 0 ]; then
  echo 'The firewall can be read by root only'
  exit 2
fi
echo 'No firewall is active'
exit 1
