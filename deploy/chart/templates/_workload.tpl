{{- define "rmm.serviceAccount" -}}
apiVersion: v1
kind: ServiceAccount
metadata: {{- include "rmm.metadata" . | nindent 2 }}
automountServiceAccountToken: false
{{- end -}}

{{- define "rmm.serviceObject" -}}
apiVersion: v1
kind: Service
metadata: {{- include "rmm.metadata" . | nindent 2 }}
spec:
  selector: {{- include "rmm.selector" . | nindent 4 }}
  ports:
    - { name: http, port: {{ int .service.port }}, targetPort: http, appProtocol: http }
{{- end -}}

{{- define "rmm.probe" -}}
httpGet: { path: {{ .path }}, port: http }
{{ toYaml .settings }}
{{- end -}}

{{- define "rmm.deployment" -}}
{{- $service := .service -}}
apiVersion: apps/v1
kind: Deployment
metadata: {{- include "rmm.metadata" . | nindent 2 }}
spec:
  {{- if eq $service.autoscaling.kind "none" }}
  replicas: {{ int $service.replicas }}
  {{- end }}
  revisionHistoryLimit: 3
  strategy:
    rollingUpdate: { maxUnavailable: 0, maxSurge: 1 }
  selector:
    matchLabels: {{- include "rmm.selector" . | nindent 6 }}
  template:
    metadata:
      labels:
        {{- include "rmm.selector" . | nindent 8 }}
        {{- with $service.podLabels }}{{ toYaml . | nindent 8 }}{{ end }}
      {{- with $service.podAnnotations }}
      annotations: {{- toYaml . | nindent 8 }}
      {{- end }}
    spec:
      serviceAccountName: {{ include "rmm.name" . }}
      {{- include "rmm.podSecurity" . | nindent 6 }}
      {{- with $service.priorityClassName }}
      priorityClassName: {{ . }}
      {{- end }}
      {{- with $service.nodeSelector }}
      nodeSelector: {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with $service.tolerations }}
      tolerations: {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with $service.affinity }}
      affinity: {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- if $service.topologySpread.enabled }}
      topologySpreadConstraints:
        {{- range list "topology.kubernetes.io/zone" "kubernetes.io/hostname" }}
        - topologyKey: {{ . }}
          maxSkew: 1
          whenUnsatisfiable: {{ $service.topologySpread.whenUnsatisfiable }}
          labelSelector:
            matchLabels: {{- include "rmm.selector" $ | nindent 14 }}
          matchLabelKeys: [pod-template-hash]
        {{- end }}
      {{- end }}
      terminationGracePeriodSeconds: {{ add $service.shutdown.preStopSeconds $service.shutdown.graceSeconds 10 }}
      containers:
        - name: {{ .name }}
          image: {{ include "rmm.image" . }}
          imagePullPolicy: {{ .root.Values.image.pullPolicy }}
          ports:
            - { name: http, containerPort: {{ int $service.port }} }
          env: {{- include "rmm.environment" . | nindent 12 }}
          {{- include "rmm.containerSecurity" . | nindent 10 }}
          resources: {{- toYaml $service.resources | nindent 12 }}
          # By the live endpoint: a service whose stores are away must not be restarted, and one that cannot start ends by itself.
          startupProbe: {{- include "rmm.probe" (dict "path" "/health/live" "settings" $service.probes.startup) | nindent 12 }}
          readinessProbe: {{- include "rmm.probe" (dict "path" "/health/ready" "settings" $service.probes.readiness) | nindent 12 }}
          livenessProbe: {{- include "rmm.probe" (dict "path" "/health/live" "settings" $service.probes.liveness) | nindent 12 }}
          lifecycle:
            preStop: { sleep: { seconds: {{ int $service.shutdown.preStopSeconds }} } }
          volumeMounts:
            {{- include "rmm.volumeMounts" . | nindent 12 }}
            {{- with $service.extraVolumeMounts }}{{ toYaml . | nindent 12 }}{{ end }}
      volumes:
        {{- include "rmm.volumes" . | nindent 8 }}
        {{- with $service.extraVolumes }}{{ toYaml . | nindent 8 }}{{ end }}
{{- end -}}
