#!/bin/sh
# Installs the agent on Linux or macOS and enrolls this device. Running it again updates the agent when there is another
# build and leaves the enrollment as it is.
#
#   curl -fsSL @API_URL@/agents/install.sh | sudo sh -s -- --key <enrollment key>
#
#   --key KEY         the enrollment key; or RMM_ENROLLMENT_KEY, which other users of this device cannot see
#   --secret SECRET   the enrollment secret, if there is one; or RMM_ENROLLMENT_SECRET
#   --site ID         the site of the device
#   --prefix DIR      installs below DIR instead of /
#   --no-service      installs and enrolls only
#   --force           enrolls again and keeps the record of this device
set -eu
umask 077

API_URL='@API_URL@'

fail() {
  echo "install.sh: $*" >&2
  exit 1
}

# Prints a text as the content of a JSON string. Control characters have no place in any of these texts.
json() {
  printf '%s' "$1" | tr -d '\000-\037\177' | sed 's/[\\"]/\\&/g'
}

# Prints the value of a text field of a JSON object without nesting, as the enrollment response and agent.json have it.
field() {
  sed -n 's/.*"'"$1"'" *: *"\([^"]*\)".*/\1/p' "$2" | head -n 1
}

# Prints the value after an option.
value_of() {
  [ "$#" -ge 2 ] || fail "$1 needs a value"
  printf '%s' "$2"
}

sha256_of() {
  if command -v sha256sum > /dev/null; then sha256sum < "$1"; else shasum -a 256 < "$1"; fi | cut -d ' ' -f 1
}

read_options() {
  key=${RMM_ENROLLMENT_KEY:-} secret=${RMM_ENROLLMENT_SECRET:-} site='' prefix='' service=yes force=no
  while [ "$#" -gt 0 ]; do
    case $1 in
      --key) key=$(value_of "$@") || exit 1; shift 2 ;;
      --secret) secret=$(value_of "$@") || exit 1; shift 2 ;;
      --site) site=$(value_of "$@") || exit 1; shift 2 ;;
      --prefix) prefix=$(value_of "$@") || exit 1; shift 2 ;;
      --no-service) service=no; shift ;;
      --force) force=yes; shift ;;
      *) fail "unknown option $1" ;;
    esac
  done
  case $key in *[!A-Za-z0-9_-]*) fail 'the key has characters that no enrollment key has' ;; esac
  case $site in *[!A-Fa-f0-9-]*) fail 'the site is not an id' ;; esac
}

read_platform() {
  case $(uname -s) in
    Linux) os=linux os_type=linux ;;
    Darwin) os=darwin os_type=macos ;;
    *) fail "no agent for $(uname -s)" ;;
  esac
  case $(uname -m) in
    x86_64 | amd64) arch=amd64 ;;
    aarch64 | arm64) arch=arm64 ;;
    *) fail "no agent for $(uname -m)" ;;
  esac
  if [ "$os" = darwin ]; then
    os_version=$(sw_vers -productVersion)
    serial=$(ioreg -c IOPlatformExpertDevice -d 2 | sed -n 's/.*"IOPlatformSerialNumber" = "\(.*\)"/\1/p')
  else
    os_version=$(sed -n 's/^PRETTY_NAME="\{0,1\}\([^"]*\).*/\1/p' /etc/os-release 2> /dev/null || true)
    [ -n "$os_version" ] || os_version=$(uname -r)
    serial=$(cat /sys/class/dmi/id/product_serial 2> /dev/null || true)
  fi
}

# Downloads the agent and compares it with the checksum before it replaces anything.
install_agent() {
  binary=$prefix/usr/local/bin/rmm-agent
  expected=$(curl -fsSL --proto-redir =https,http "$API_URL/agents/download/$os/$arch/sha256" | cut -c 1-64) ||
    fail "no checksum for the agent for $os $arch"
  case $expected in *[!0-9a-f]*) fail 'the checksum is malformed' ;; esac
  [ "${#expected}" = 64 ] || fail 'the checksum is malformed'
  replaced=no
  if [ -f "$binary" ] && [ "$(sha256_of "$binary")" = "$expected" ]; then
    echo 'The agent is up to date.'
    return
  fi
  curl -fsSL --proto-redir =https,http -o "$work/rmm-agent" "$API_URL/agents/download/$os/$arch" ||
    fail "the agent for $os $arch could not be downloaded"
  [ "$(sha256_of "$work/rmm-agent")" = "$expected" ] || fail 'the download does not have the expected checksum'
  (umask 022 && mkdir -p "${binary%/*}")
  cp "$work/rmm-agent" "$binary.new"
  chmod 755 "$binary.new"
  mv "$binary.new" "$binary"
  replaced=yes
  echo "Installed $binary."
}

enroll() {
  config=$prefix/etc/rmm-agent/agent.json
  old_token=''
  if [ -f "$config" ]; then
    if [ "$force" = no ]; then
      echo "This device is enrolled: $config."
      return
    fi
    old_token=$(field authToken "$config")
  fi
  [ -n "$key" ] || fail 'an enrollment key is needed: --key'
  hostname=$(hostname 2> /dev/null || uname -n)
  {
    printf '{"enrollmentKey":"%s","hostname":"%s","osType":"%s"' "$(json "$key")" "$(json "$hostname")" "$os_type"
    printf ',"osVersion":"%s","architecture":"%s"' "$(json "$os_version")" "$arch"
    if [ -n "$secret" ]; then printf ',"enrollmentSecret":"%s"' "$(json "$secret")"; fi
    if [ -n "$site" ]; then printf ',"siteId":"%s"' "$(json "$site")"; fi
    if [ -n "$serial" ]; then printf ',"hardwareInfo":{"serialNumber":"%s"}' "$(json "$serial")"; fi
    printf '}'
  } > "$work/request.json"
  # In files, not in arguments: other users of this device can read the arguments of a process.
  printf 'Content-Type: application/json\n' > "$work/headers"
  if [ -n "$old_token" ]; then printf 'X-Agent-Reenrollment-Token: %s\n' "$old_token" >> "$work/headers"; fi
  status=$(curl -sS -o "$work/response.json" -w '%{http_code}' -H "@$work/headers" \
    --data-binary "@$work/request.json" "$API_URL/agents/enroll") || fail 'the fleet could not be reached'
  [ "$status" = 201 ] || fail "the enrollment was refused with status $status: $(field message "$work/response.json")"
  for name in agentId deviceId orgId authToken; do
    [ -n "$(field "$name" "$work/response.json")" ] || fail "the response has no $name"
  done
  mkdir -p "${config%/*}"
  {
    printf '{"serverUrl":"%s"' "$API_URL"
    for name in agentId deviceId orgId authToken; do
      printf ',"%s":"%s"' "$name" "$(field "$name" "$work/response.json")"
    done
    printf '}\n'
  } > "$config.new"
  mv "$config.new" "$config"
  replaced=yes
  echo "Enrolled as device $(field deviceId "$config")."
}

install_service() {
  if [ "$os" = linux ] && command -v systemctl > /dev/null; then
    cat > "$work/rmm-agent.service" << UNIT
[Unit]
Description=RMM agent
Wants=network-online.target
After=network-online.target

[Service]
ExecStart="$binary" run --config "$config"
Restart=always
RestartSec=10

[Install]
WantedBy=multi-user.target
UNIT
    unit=$prefix/etc/systemd/system/rmm-agent.service
    (umask 022 && mkdir -p "${unit%/*}" && cat "$work/rmm-agent.service" > "$unit")
    systemctl daemon-reload
    systemctl enable --quiet rmm-agent
    if [ "$replaced" = yes ]; then systemctl restart rmm-agent; else systemctl start rmm-agent; fi
  elif [ "$os" = darwin ]; then
    plist=$prefix/Library/LaunchDaemons/rmm-agent.plist
    cat > "$work/rmm-agent.plist" << PLIST
<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0"><dict>
  <key>Label</key><string>rmm-agent</string>
  <key>ProgramArguments</key>
  <array><string>$binary</string><string>run</string><string>--config</string><string>$config</string></array>
  <key>RunAtLoad</key><true/>
  <key>KeepAlive</key><true/>
</dict></plist>
PLIST
    (umask 022 && mkdir -p "${plist%/*}" && cat "$work/rmm-agent.plist" > "$plist")
    launchctl print system/rmm-agent > /dev/null 2>&1 || launchctl bootstrap system "$plist"
    if [ "$replaced" = yes ]; then launchctl kickstart -k system/rmm-agent; fi
  else
    echo "There is no service manager: start $binary run --config $config"
  fi
}

main() {
  read_options "$@"
  case $prefix in *[!A-Za-z0-9/._-]*) fail 'the prefix may have letters, digits and / . _ - only' ;; esac
  command -v curl > /dev/null || fail 'curl is needed'
  [ -n "$prefix" ] || [ "$(id -u)" = 0 ] || fail 'run it as root'
  read_platform
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  install_agent
  enroll
  if [ "$service" = yes ]; then install_service; fi
}

# In a function that is called at the end: a download that was cut off runs nothing.
main "$@"
