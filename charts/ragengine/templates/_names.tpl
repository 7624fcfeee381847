{{/* Name of the operator's objects: ragengine-operator for the release ragengine. */}}
{{- define "ragengine.name" -}}
{{- if hasSuffix "-operator" .Release.Name -}}
{{ .Release.Name | trunc 63 }}
{{- else -}}
{{ .Release.Name | trunc 54 | trimSuffix "-" }}-operator
{{- end -}}
{{- end }}

{{- define "ragengine.serviceAccountName" -}}
{{ .Values.serviceAccount.name | default (include "ragengine.name" .) }}
{{- end }}

{{/* Selector of the operator's pods; it must never change. Pods of engines have the name ragengine. */}}
{{- define "ragengine.selectorLabels" -}}
app.kubernetes.io/name: ragengine-operator
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "ragengine.labels" -}}
{{ include "ragengine.selectorLabels" . }}
app.kubernetes.io/component: operator
app.kubernetes.io/part-of: ragengine
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version | replace "+" "_" }}
{{- end }}

{{/* Not empty on OpenShift, where the cluster assigns the users of pods. */}}
{{- define "ragengine.isOpenShift" -}}
{{- if eq (toString .Values.openshift) "auto" -}}
{{ .Capabilities.APIVersions.Has "security.openshift.io/v1" | ternary "true" "" }}
{{- else if .Values.openshift -}}
true
{{- end -}}
{{- end }}

{{/* An image as repository:tag, repository@digest, or both. Without both, the tag is the chart's version. */}}
{{- define "ragengine.image" -}}
{{- $tag := .image.tag | default (empty .image.digest | ternary .version "") -}}
{{ .image.repository }}{{ with $tag }}:{{ . }}{{ end }}{{ with .image.digest }}@{{ . }}{{ end }}
{{- end }}
