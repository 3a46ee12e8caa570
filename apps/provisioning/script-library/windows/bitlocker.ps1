# Shows BitLocker for each volume, without keys. Needs administrator rights. Exit code 1: the system volume is not protected.
# Changes nothing.
$ErrorActionPreference = 'Stop'
try {
  $volumes = @(Get-BitLockerVolume)
} catch {
  Write-Output "BitLocker cannot be read: $($_.Exception.Message)"
  exit 2
}
$volumes | Select-Object 'MountPoint', 'VolumeType', 'ProtectionStatus', 'VolumeStatus', 'EncryptionPercentage', 'EncryptionMethod' |
  Format-Table -AutoSize | Out-String -Width 200 | Write-Output
$open = @($volumes | Where-Object { $_.VolumeType -eq 'OperatingSystem' -and $_.ProtectionStatus -ne 'On' })
if ($open.Count -gt 0) { exit 1 }
exit 0
