{{- define "rmm.serviceMonitor" -}}
{{- $monitor := .root.Values.monitoring.serviceMonitor -}}
apiVersion: monitoring.coreos.com/v1
kind: ServiceMonitor
metadata:
  {{- include "rmm.metadata" . | nindent 2 }}
    {{- with $monitor.labels }}{{ toYaml . | nindent 4 }}{{ end }}
spec:
  selector:
    matchLabels: {{- include "rmm.selector" . | nindent 6 }}
  endpoints:
    # The metrics have a label `service` of their own, by which the alerts name the service.
    - { port: http, path: /metrics, interval: {{ $monitor.interval }}, honorLabels: true }
{{- end -}}

{{- define "rmm.prometheusRule" -}}
apiVersion: monitoring.coreos.com/v1
kind: PrometheusRule
metadata:
  {{- include "rmm.metadata" . | nindent 2 }}
    {{- with .root.Values.monitoring.prometheusRule.labels }}{{ toYaml . | nindent 4 }}{{ end }}
spec:
  {{- .root.Files.Get "files/alerts.yml" | fromYaml | toYaml | nindent 2 }}
{{- end -}}
