# Lists services that start automatically but do not run. Exit code 1: there are some. Changes nothing.
$ErrorActionPreference = 'Stop'
# These stop by themselves when they have nothing to do.
$expected = 'edgeupdate', 'gupdate', 'GoogleUpdater*', 'MapsBroker', 'sppsvc', 'RemoteRegistry', 'clr_optimization*', 'WbioSrvc', 'gpsvc', 'TrustedInstaller', 'CDPSvc'
$stopped = @(Get-CimInstance -ClassName Win32_Service -Filter "StartMode = 'Auto' AND State <> 'Running'" |
  Where-Object { $name = $_.Name; -not ($expected | Where-Object { $name -like $_ }) -and -not $_.DelayedAutoStart })
foreach ($service in $stopped) {
  Write-Output "$($service.Name) ($($service.DisplayName)): $($service.State), exit code $($service.ExitCode)"
}
if ($stopped.Count -gt 0) { exit 1 }
Write-Output 'All automatic services are running'
exit 0
