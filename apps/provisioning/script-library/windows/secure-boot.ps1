# Shows whether the computer started with Secure Boot. Needs administrator rights. Exit code 1: it did not. Changes nothing.
$ErrorActionPreference = 'Stop'
try {
  $enabled = Confirm-SecureBootUEFI
} catch {
  Write-Output "Secure Boot: not known ($($_.Exception.Message))"
  exit 2
}
if ($enabled) {
  Write-Output 'Secure Boot: enabled'
  exit 0
}
Write-Output 'Secure Boot: disabled'
exit 1
