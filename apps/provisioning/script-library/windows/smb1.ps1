# Shows whether the server accepts the old protocol SMB 1, and lists the shares. Exit code 1: it does. Changes nothing.
$ErrorActionPreference = 'Stop'
try {
  $configuration = Get-SmbServerConfiguration
} catch {
  Write-Output "The file server cannot be read: $($_.Exception.Message)"
  exit 2
}
Write-Output "SMB 1: $($configuration.EnableSMB1Protocol), signing required: $($configuration.RequireSecuritySignature)"
foreach ($share in Get-SmbShare) { Write-Output "$($share.Name): $($share.Path)" }
if ($configuration.EnableSMB1Protocol) { exit 1 }
exit 0
