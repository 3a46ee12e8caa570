# Lists certificates of the computer that have expired or expire within 30 days. Exit code 1: there are some. Changes nothing.
$ErrorActionPreference = 'Stop'
$limit = (Get-Date).AddDays(30)
$all = @(Get-ChildItem -Path Cert:\LocalMachine\My)
$ending = @($all | Where-Object { $_.NotAfter -lt $limit } | Sort-Object -Property NotAfter)
Write-Output "Checked certificates: $($all.Count)"
foreach ($certificate in $ending) {
  Write-Output "$($certificate.NotAfter.ToString('yyyy-MM-dd')) $($certificate.Thumbprint) $($certificate.Subject)"
}
if ($ending.Count -gt 0) { exit 1 }
exit 0
