{{/* Lays the values of a service over the defaults, at every level. An own helper, since the functions of Helm drop false and 0. */}}
{{- define "rmm.overlay" -}}
{{- $result := deepCopy .base -}}
{{- range $key, $value := .over -}}
  {{- $lower := get $result $key -}}
  {{- if and (kindIs "map" $value) (kindIs "map" $lower) -}}
    {{- $_ := set $result $key (include "rmm.overlay" (dict "base" $lower "over" $value) | fromYaml) -}}
  {{- else -}}
    {{- $_ := set $result $key $value -}}
  {{- end -}}
{{- end -}}
{{- toYaml $result -}}
{{- end -}}

{{/* The object name of a service or part. Takes (dict "root" $ "name" ...), as all templates below do. */}}
{{- define "rmm.name" -}}
{{- printf "%s-%s" .root.Values.namePrefix .name -}}
{{- end -}}

{{/* Labels by which pods are selected. They do not depend on the release: a service may move to another one. */}}
{{- define "rmm.selector" -}}
app.kubernetes.io/part-of: {{ .root.Values.namePrefix }}
app.kubernetes.io/name: {{ .name }}
{{- end -}}

{{- define "rmm.labels" -}}
{{ include "rmm.selector" . }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/version: {{ .root.Values.image.tag | default .root.Chart.AppVersion | trunc 63 | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version }}
{{- end -}}

{{- define "rmm.metadata" -}}
name: {{ include "rmm.name" . }}
namespace: {{ .root.Release.Namespace }}
labels: {{- include "rmm.labels" . | nindent 2 }}
{{- end -}}

{{/* The image of a service; .service has its values. */}}
{{- define "rmm.image" -}}
{{- $image := .root.Values.image -}}
{{- $path := printf "%s/%s" $image.repository .name -}}
{{- if $image.registry }}{{ $path = printf "%s/%s" $image.registry $path }}{{ end -}}
{{- if .service.imageDigest -}}
{{- printf "%s@%s" $path .service.imageDigest -}}
{{- else -}}
{{- printf "%s:%s" $path (.service.imageTag | default $image.tag | default .root.Chart.AppVersion) -}}
{{- end -}}
{{- end -}}

{{/* The prefixes of deploy/routes.json that lead to a service. */}}
{{- define "rmm.prefixes" -}}
{{- $name := .name -}}
{{- range (.root.Files.Get "files/routes.json" | fromJson).routes -}}
{{- if eq .service $name }}
- {{ .prefix }}
{{- end -}}
{{- end -}}
{{- end -}}
