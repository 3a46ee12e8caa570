{{- define "rmm.dnsEgress" -}}
- to: {{- toYaml .root.Values.networkPolicy.dns | nindent 4 }}
  ports: [{ protocol: UDP, port: 53 }, { protocol: TCP, port: 53 }]
{{- end -}}

{{/* Takes (dict "root" $ "store" ...). A rule without `to` would allow every address, so an empty one is refused. */}}
{{- define "rmm.storeEgress" -}}
{{- $store := get .root.Values.stores .store -}}
{{- if not $store.to -}}
{{- required (printf "networkPolicy is enabled: name where %s is, in stores.%s.to" .store .store) "" -}}
{{- end -}}
- to: {{- toYaml $store.to | nindent 4 }}
  ports: [{ protocol: TCP, port: {{ int $store.port }} }]
{{- end -}}

{{/* To the collector of traces, if there is one. */}}
{{- define "rmm.collectorEgress" -}}
{{- $collector := .root.Values.collector -}}
{{- if not $collector.to -}}
{{- required "networkPolicy is enabled: name where the collector of OTEL_EXPORTER_OTLP_ENDPOINT is, in collector.to" "" -}}
{{- end -}}
- to: {{- toYaml $collector.to | nindent 4 }}
  ports: [{ protocol: TCP, port: {{ int $collector.port }} }]
{{- end -}}

{{/* Any TCP port of the internet, not of private, link-local and metadata ranges nor of the cluster. */}}
{{- define "rmm.internetEgress" -}}
{{- $policy := .root.Values.networkPolicy -}}
- to:
    {{- range $policy.internet }}
    {{- $isIpv6 := contains ":" .cidr }}
    - ipBlock:
        cidr: {{ .cidr }}
        except:
          {{- toYaml .except | nindent 10 }}
          {{- range $policy.clusterCidrs }}
          {{- if eq (contains ":" .) $isIpv6 }}
          - {{ . }}
          {{- end }}
          {{- end }}
    {{- end }}
  ports: [{ protocol: TCP, port: 1, endPort: 65535 }]
{{- end -}}

{{- define "rmm.networkPolicy" -}}
{{- $root := .root -}}
{{- $name := .name -}}
{{- $policy := $root.Values.networkPolicy -}}
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {{- include "rmm.metadata" . | nindent 2 }}
spec:
  podSelector:
    matchLabels: {{- include "rmm.selector" . | nindent 6 }}
  policyTypes: [Ingress, Egress]
  ingress:
    - from:
        {{- if include "rmm.prefixes" . }}
        {{- toYaml $policy.ingressController | nindent 8 }}
        {{- end }}
        {{- toYaml $policy.monitoring | nindent 8 }}
        {{- range $caller, $values := $root.Values.services }}
        {{- if has $name ($values.calls | default list) }}
        - podSelector:
            matchLabels: {{- include "rmm.selector" (dict "root" $root "name" $caller) | nindent 14 }}
        {{- end }}
        {{- end }}
        - podSelector:
            matchLabels: {{- include "rmm.selector" (dict "root" $root "name" "test") | nindent 14 }}
      ports: [{ protocol: TCP, port: {{ int .service.port }} }]
  egress:
    {{- include "rmm.dnsEgress" . | nindent 4 }}
    {{- range list "postgres" "redis" "nats" }}
    {{- include "rmm.storeEgress" (dict "root" $root "store" .) | nindent 4 }}
    {{- end }}
    {{- if get $root.Values.config "OTEL_EXPORTER_OTLP_ENDPOINT" }}
    {{- include "rmm.collectorEgress" . | nindent 4 }}
    {{- end }}
    {{- range $called := .service.calls }}
    - to:
        - podSelector:
            matchLabels: {{- include "rmm.selector" (dict "root" $root "name" $called) | nindent 14 }}
      ports: [{ protocol: TCP, port: {{ get (get $root.Values.services $called) "port" | int }} }]
    {{- end }}
    {{- if .service.internet }}
    {{- include "rmm.internetEgress" . | nindent 4 }}
    {{- end }}
    {{- with .service.extraEgress }}{{ toYaml . | nindent 4 }}{{ end }}
{{- end -}}

{{/* Denies both ways whatever no other policy allows. */}}
{{- define "rmm.denyNamespace" -}}
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {{- include "rmm.metadata" . | nindent 2 }}
spec:
  podSelector: {}
  policyTypes: [Ingress, Egress]
{{- end -}}
