{{/* Objects of a hook are created before all others, in the order of their weights, so they use nothing but existing Secrets. */}}
{{- define "rmm.hookAnnotations" -}}
{{- if eq .root.Values.migrations.mode "hook" }}
annotations:
  helm.sh/hook: pre-install,pre-upgrade
  helm.sh/hook-weight: {{ .weight | quote }}
  helm.sh/hook-delete-policy: before-hook-creation{{ if eq .weight "0" }},hook-succeeded{{ end }}
{{- end }}
{{- end -}}

{{- define "rmm.jobServiceAccount" -}}
apiVersion: v1
kind: ServiceAccount
metadata:
  {{- include "rmm.metadata" . | nindent 2 }}
  {{- include "rmm.hookAnnotations" (dict "root" .root "weight" "-10") | nindent 2 }}
automountServiceAccountToken: false
{{- end -}}

{{/* Takes also "store": the only one that the job may reach. */}}
{{- define "rmm.jobNetworkPolicy" -}}
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata:
  {{- include "rmm.metadata" . | nindent 2 }}
  {{- include "rmm.hookAnnotations" (dict "root" .root "weight" "-10") | nindent 2 }}
spec:
  podSelector:
    matchLabels: {{- include "rmm.selector" . | nindent 6 }}
  policyTypes: [Ingress, Egress]
  egress:
    {{- include "rmm.dnsEgress" . | nindent 4 }}
    {{- include "rmm.storeEgress" . | nindent 4 }}
{{- end -}}

{{/* Takes also "image", "command" and "environment" (text). */}}
{{- define "rmm.job" -}}
{{- $migrations := .root.Values.migrations -}}
{{- $isHook := eq $migrations.mode "hook" -}}
apiVersion: batch/v1
kind: Job
metadata:
  name: {{ include "rmm.name" . }}{{ if not $isHook }}-{{ .root.Release.Revision }}{{ end }}
  namespace: {{ .root.Release.Namespace }}
  labels: {{- include "rmm.labels" . | nindent 4 }}
  {{- include "rmm.hookAnnotations" (dict "root" .root "weight" "0") | nindent 2 }}
spec:
  backoffLimit: 3
  activeDeadlineSeconds: {{ int $migrations.activeDeadlineSeconds }}
  {{- if not $isHook }}
  ttlSecondsAfterFinished: 86400
  {{- end }}
  template:
    metadata:
      labels: {{- include "rmm.selector" . | nindent 8 }}
    spec:
      restartPolicy: Never
      serviceAccountName: {{ include "rmm.name" . }}
      {{- include "rmm.podSecurity" . | nindent 6 }}
      containers:
        - name: {{ .name }}
          image: {{ .image }}
          imagePullPolicy: {{ .root.Values.image.pullPolicy }}
          command: {{ .command | toJson }}
          env:
            {{- .environment | nindent 12 }}
            {{- include "rmm.storesCaVariable" . | nindent 12 }}
          {{- include "rmm.containerSecurity" . | nindent 10 }}
          resources: {{- toYaml $migrations.resources | nindent 12 }}
          volumeMounts: {{- include "rmm.volumeMounts" . | nindent 12 }}
      volumes: {{- include "rmm.volumes" . | nindent 8 }}
{{- end -}}

{{/* The owner's login, and the names of the logins that get the grants: their passwords are not needed. */}}
{{- define "rmm.migrationsEnvironment" -}}
{{- $schema := .name | replace "-" "_" -}}
{{- $logins := .service.databaseLogins -}}
{{- $secret := .service.migrationsSecret | default (printf "%s-owner" (include "rmm.name" .)) -}}
- { name: MIGRATIONS_DATABASE_URL, valueFrom: { secretKeyRef: { name: {{ $secret }}, key: MIGRATIONS_DATABASE_URL } } }
- { name: DATABASE_URL, value: {{ printf "postgres://%s@localhost" ($logins.service | default (printf "%s_service" $schema)) | quote }} }
- { name: WORKER_DATABASE_URL, value: {{ printf "postgres://%s@localhost" ($logins.worker | default (printf "%s_worker" $schema)) | quote }} }
{{- end -}}

{{- define "rmm.streamsEnvironment" -}}
{{- $streams := .root.Values.streams -}}
{{- $secret := $streams.existingSecret | default (printf "%s-nats-admin" .root.Values.namePrefix) -}}
- { name: NATS_ADMIN_URL, valueFrom: { secretKeyRef: { name: {{ $secret }}, key: NATS_ADMIN_URL } } }
{{- if $streams.replicas }}
- { name: NATS_STREAM_REPLICAS, value: {{ include "rmm.text" $streams.replicas | quote }} }
{{- end }}
{{- end -}}
