# Lists enabled scheduled tasks that are not part of Windows, with their last result. Changes nothing.
$ErrorActionPreference = 'Stop'
$tasks = Get-ScheduledTask | Where-Object { $_.TaskPath -notlike '\Microsoft\*' -and "$($_.State)" -ne 'Disabled' }
foreach ($task in $tasks) {
  $info = $task | Get-ScheduledTaskInfo -ErrorAction SilentlyContinue
  $author = if ($task.Author) { $task.Author } else { 'no author' }
  Write-Output "$($task.TaskPath)$($task.TaskName) ($author): last run $($info.LastRunTime), result $($info.LastTaskResult)"
}
exit 0
