{{- define "everyword.labels" -}}
{{ include "everyword.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{- define "everyword.selector" -}}
app.kubernetes.io/name: everyword
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}
