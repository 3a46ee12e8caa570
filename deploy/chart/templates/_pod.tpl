{{/* What every pod has: no token, no root, no capabilities. */}}
{{- define "rmm.podSecurity" -}}
automountServiceAccountToken: false
enableServiceLinks: false
{{- with .root.Values.image.pullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . }}
  {{- end }}
{{- end }}
securityContext:
  runAsNonRoot: true
  runAsUser: 1000
  runAsGroup: 1000
  seccompProfile: { type: RuntimeDefault }
{{- end -}}

{{- define "rmm.containerSecurity" -}}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: { drop: [ALL] }
{{- end -}}

{{/* Folders: /tmp, and the certificates of the stores. */}}
{{- define "rmm.volumes" -}}
- name: tmp
  emptyDir: { sizeLimit: 256Mi }
{{- with .root.Values.storesCa.existingSecret }}
- name: stores-ca
  secret: { secretName: {{ . }}, defaultMode: 0444 }
{{- end }}
{{- end -}}

{{- define "rmm.volumeMounts" -}}
- { name: tmp, mountPath: /tmp }
{{- if .root.Values.storesCa.existingSecret }}
- { name: stores-ca, mountPath: /etc/rmm/stores-ca, readOnly: true }
{{- end }}
{{- end -}}

{{- define "rmm.storesCaVariable" -}}
{{- with .root.Values.storesCa }}{{ if .existingSecret }}
- { name: NODE_EXTRA_CA_CERTS, value: {{ printf "/etc/rmm/stores-ca/%s" .key | quote }} }
{{- end }}{{ end }}
{{- end -}}

{{/* The text of a variable. Helm reads numbers as floats and would write 1e+06. */}}
{{- define "rmm.text" -}}
{{- if kindIs "float64" . }}{{ printf "%.0f" . }}{{ else }}{{ . }}{{ end -}}
{{- end -}}

{{/* The environment of a service: what follows from other values, then config, then keys of its Secret. */}}
{{- define "rmm.environment" -}}
{{- $root := .root -}}
{{- $service := .service -}}
{{- $environment := dict
  "PORT" $service.port
  "SHUTDOWN_DELAY_SECONDS" $service.shutdown.delaySeconds
  "SHUTDOWN_GRACE_SECONDS" $service.shutdown.graceSeconds
-}}
{{- if eq .name "partner-gateway" -}}
  {{- $sources := list -}}
  {{- range $called := $service.calls -}}
    {{- $url := include "rmm.url" (dict "root" $root "name" $called) -}}
    {{- $sources = append $sources (printf "%s=%s/openapi.json" $called $url) -}}
  {{- end -}}
  {{- $_ := set $environment "OPENAPI_SOURCES" (join "," $sources) -}}
{{- else if has "identity" $service.calls -}}
  {{- $url := include "rmm.url" (dict "root" $root "name" "identity") -}}
  {{- $_ := set $environment "JWKS_URL" (printf "%s/api/v1/auth/.well-known/jwks.json" $url) -}}
{{- end -}}
{{- if and $service.internet $root.Values.networkPolicy.clusterCidrs -}}
  {{- $_ := set $environment "OUTBOUND_BLOCKED_CIDRS" (join "," $root.Values.networkPolicy.clusterCidrs) -}}
{{- end -}}
{{- range $name, $value := $root.Values.config }}{{ $_ := set $environment $name $value }}{{ end -}}
{{- range $name, $value := $service.config }}{{ $_ := set $environment $name $value }}{{ end -}}
{{- if eq $environment.NODE_ENV "production" -}}
  {{- range list "PUBLIC_API_URL" "PUBLIC_APP_URL" "TRUSTED_PROXY_CIDRS" -}}
    {{- if not (get $environment .) }}{{ required (printf "config.%s is needed in production" .) "" }}{{ end -}}
  {{- end -}}
{{- end -}}
{{- $secret := $service.existingSecret | default (include "rmm.name" .) -}}
{{- range $name, $value := $environment }}
- { name: {{ $name }}, value: {{ include "rmm.text" $value | quote }} }
{{- end }}
{{- include "rmm.storesCaVariable" . }}
{{- range $service.requiredSecrets }}
- { name: {{ . }}, valueFrom: { secretKeyRef: { name: {{ $secret }}, key: {{ . }} } } }
{{- end }}
{{- range $service.optionalSecrets }}
- { name: {{ . }}, valueFrom: { secretKeyRef: { name: {{ $secret }}, key: {{ . }}, optional: true } } }
{{- end }}
{{- end -}}

{{/* The address of a service inside the cluster. */}}
{{- define "rmm.url" -}}
{{- $port := get (get .root.Values.services .name) "port" | int -}}
{{- printf "http://%s.%s.svc:%d" (include "rmm.name" .) .root.Release.Namespace $port -}}
{{- end -}}
