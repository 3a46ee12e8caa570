{{/* `helm test`: every enabled service is ready, as other pods see it. */}}
{{- define "rmm.testPod" -}}
{{- $root := .root -}}
apiVersion: v1
kind: Pod
metadata:
  name: {{ include "rmm.name" . }}-{{ .root.Release.Name }}
  namespace: {{ .root.Release.Namespace }}
  labels: {{- include "rmm.labels" . | nindent 4 }}
  annotations:
    helm.sh/hook: test
    helm.sh/hook-delete-policy: before-hook-creation
spec:
  restartPolicy: Never
  {{- include "rmm.podSecurity" . | nindent 2 }}
  containers:
    - name: test
      image: {{ .image }}
      imagePullPolicy: {{ .root.Values.image.pullPolicy }}
      command:
        - node
        - --input-type=module
        - --eval
        - |
          for (const url of process.argv.slice(1)) {
            const reply = await fetch(`${url}/health/ready`, { signal: AbortSignal.timeout(5_000) });
            console.log(url, reply.status, await reply.text());
            if (!reply.ok) process.exitCode = 1;
          }
        {{- range .names }}
        - {{ include "rmm.url" (dict "root" $root "name" .) }}
        {{- end }}
      {{- include "rmm.containerSecurity" . | nindent 6 }}
      resources:
        requests: { cpu: 50m, memory: 64Mi }
        limits: { memory: 128Mi }
{{- end -}}

{{- define "rmm.testNetworkPolicy" -}}
{{- $root := .root -}}
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata:
  name: {{ include "rmm.name" . }}-{{ .root.Release.Name }}
  namespace: {{ .root.Release.Namespace }}
  labels: {{- include "rmm.labels" . | nindent 4 }}
spec:
  podSelector:
    matchLabels:
      {{- include "rmm.selector" . | nindent 6 }}
      app.kubernetes.io/instance: {{ .root.Release.Name }}
  policyTypes: [Ingress, Egress]
  egress:
    {{- include "rmm.dnsEgress" . | nindent 4 }}
    {{- range .names }}
    - to:
        - podSelector:
            matchLabels: {{- include "rmm.selector" (dict "root" $root "name" .) | nindent 14 }}
      ports: [{ protocol: TCP, port: {{ get (get $root.Values.services .) "port" | int }} }]
    {{- end }}
{{- end -}}
