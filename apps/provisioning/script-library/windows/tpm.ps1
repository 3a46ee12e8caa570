# Shows the Trusted Platform Module. Needs administrator rights. Exit code 1: it is absent or not ready. Changes nothing.
$ErrorActionPreference = 'Stop'
try {
  $tpm = Get-Tpm
} catch {
  Write-Output "The TPM cannot be read: $($_.Exception.Message)"
  exit 2
}
$version = (Get-CimInstance -Namespace root/cimv2/Security/MicrosoftTpm -ClassName Win32_Tpm -ErrorAction SilentlyContinue).SpecVersion
Write-Output "Present: $($tpm.TpmPresent), ready: $($tpm.TpmReady), enabled: $($tpm.TpmEnabled), version: $version"
if (-not ($tpm.TpmPresent -and $tpm.TpmReady)) { exit 1 }
exit 0
