# Lists the members of the local group of administrators, whatever its name is. Changes nothing.
$ErrorActionPreference = 'Stop'
$group = Get-CimInstance -ClassName Win32_Group -Filter "LocalAccount = TRUE AND SID = 'S-1-5-32-544'"
if (-not $group) {
  Write-Output 'There is no local group of administrators: a domain controller'
  exit 2
}
Write-Output "Members of $($group.Name):"
Get-CimAssociatedInstance -InputObject $group -Association Win32_GroupUser |
  ForEach-Object { Write-Output "  $($_.Domain)\$($_.Name) ($($_.CimClass.CimClassName -replace '^Win32_'))" }
exit 0
