# Looks for the services of common backup agents. Exit code 1: none is running. Changes nothing.
$ErrorActionPreference = 'Stop'
$names = 'Veeam*', 'Acronis*', 'AcrSch2Svc', 'MMS', 'DattoBackup*', 'DattoProvider*', 'CagService', 'Backup Service Controller', 'BackupFP', 'Duplicati*', 'UrBackup*', 'CrashPlan*', 'Code42*', 'MSP360*', 'Online Backup*', 'bareos-fd', 'Bacula-fd', 'obengine', 'BackupExec*', 'TSM Client*', 'GxCVD*', 'inSync*', 'Phoenix*'
$services = @(Get-Service | Where-Object { $name = $_.Name; $names | Where-Object { $name -like $_ } })
foreach ($service in $services) { Write-Output "$($service.Name) ($($service.DisplayName)): $($service.Status)" }
if (@($services | Where-Object { $_.Status -eq 'Running' }).Count -eq 0) {
  Write-Output 'No backup agent is running'
  exit 1
}
exit 0
