{{- define "rmm.ingress" -}}
{{- $exposure := .root.Values.exposure -}}
{{- $backend := include "rmm.name" . -}}
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  {{- include "rmm.metadata" . | nindent 2 }}
  {{- with $exposure.annotations }}
  annotations: {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  {{- with $exposure.className }}
  ingressClassName: {{ . }}
  {{- end }}
  {{- with $exposure.tlsSecret }}
  tls:
    - { hosts: [{{ $exposure.host | quote }}], secretName: {{ . }} }
  {{- end }}
  rules:
    - host: {{ required "exposure.host is needed" $exposure.host | quote }}
      http:
        paths:
          {{- range include "rmm.prefixes" . | fromYamlArray }}
          - path: {{ . }}
            pathType: Prefix
            backend: { service: { name: {{ $backend }}, port: { name: http } } }
          {{- end }}
{{- end -}}

{{- define "rmm.httpRoute" -}}
{{- $exposure := .root.Values.exposure -}}
{{- $gateway := $exposure.gateway -}}
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata:
  {{- include "rmm.metadata" . | nindent 2 }}
  {{- with $exposure.annotations }}
  annotations: {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  hostnames: [{{ required "exposure.host is needed" $exposure.host | quote }}]
  parentRefs:
    - name: {{ required "exposure.gateway.name is needed" $gateway.name }}
      {{- with $gateway.namespace }}
      namespace: {{ . }}
      {{- end }}
      {{- with $gateway.sectionName }}
      sectionName: {{ . }}
      {{- end }}
  rules:
    - matches:
        {{- range include "rmm.prefixes" . | fromYamlArray }}
        - path: { type: PathPrefix, value: {{ . }} }
        {{- end }}
      backendRefs:
        - { name: {{ include "rmm.name" . }}, port: {{ int .service.port }} }
{{- end -}}
