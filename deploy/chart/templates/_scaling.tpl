{{/* How replicas are added and removed: quickly, and one in a minute. */}}
{{- define "rmm.scalingBehavior" -}}
scaleUp:
  stabilizationWindowSeconds: 0
  policies:
    - { type: Pods, value: 2, periodSeconds: 60 }
scaleDown:
  stabilizationWindowSeconds: 300
  policies:
    - { type: Pods, value: 1, periodSeconds: 60 }
{{- end -}}

{{- define "rmm.horizontalPodAutoscaler" -}}
{{- $scaling := .service.autoscaling -}}
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {{- include "rmm.metadata" . | nindent 2 }}
spec:
  scaleTargetRef: { apiVersion: apps/v1, kind: Deployment, name: {{ include "rmm.name" . }} }
  minReplicas: {{ int $scaling.minReplicas }}
  maxReplicas: {{ int $scaling.maxReplicas }}
  metrics:
    - type: Resource
      resource:
        name: cpu
        target: { type: Utilization, averageUtilization: {{ int $scaling.cpuUtilization }} }
  behavior: {{- include "rmm.scalingBehavior" . | nindent 4 }}
{{- end -}}

{{- define "rmm.scaledObject" -}}
{{- $root := .root -}}
{{- $scaling := .service.autoscaling -}}
{{- $address := $root.Values.monitoring.prometheusAddress -}}
{{- if and $scaling.prometheusTriggers (not $address) -}}
{{- required (printf "services.%s.autoscaling.kind is keda: set monitoring.prometheusAddress" .name) "" -}}
{{- end -}}
apiVersion: keda.sh/v1alpha1
kind: ScaledObject
metadata: {{- include "rmm.metadata" . | nindent 2 }}
spec:
  scaleTargetRef: { apiVersion: apps/v1, kind: Deployment, name: {{ include "rmm.name" . }} }
  pollingInterval: 15
  minReplicaCount: {{ int $scaling.minReplicas }}
  maxReplicaCount: {{ int $scaling.maxReplicas }}
  advanced:
    horizontalPodAutoscalerConfig:
      behavior: {{- include "rmm.scalingBehavior" . | nindent 8 }}
  triggers:
    - type: cpu
      metricType: Utilization
      metadata: { value: {{ include "rmm.text" $scaling.cpuUtilization | quote }} }
    {{- range $scaling.prometheusTriggers }}
    # Without data the trigger fails, and the number of replicas stays.
    - type: prometheus
      metricType: {{ .type }}
      metadata:
        serverAddress: {{ $address }}
        query: {{ printf "max(%s{namespace=%q})" .metric $root.Release.Namespace | squote }}
        threshold: {{ include "rmm.text" .threshold | quote }}
        ignoreNullValues: 'false'
    {{- end }}
{{- end -}}

{{- define "rmm.podDisruptionBudget" -}}
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {{- include "rmm.metadata" . | nindent 2 }}
spec:
  maxUnavailable: {{ int .service.pdb.maxUnavailable }}
  unhealthyPodEvictionPolicy: AlwaysAllow
  selector:
    matchLabels: {{- include "rmm.selector" . | nindent 6 }}
{{- end -}}
