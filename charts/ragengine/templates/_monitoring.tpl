{{/* Not empty if an object of the Prometheus operator is wanted: with true, or with auto where its definitions are. */}}
{{- define "ragengine.isWanted" -}}
{{- $root := index . 0 -}}
{{- $enabled := index . 1 -}}
{{- if eq (toString $enabled) "auto" -}}
{{ $root.Capabilities.APIVersions.Has "monitoring.coreos.com/v1" | ternary "true" "" }}
{{- else if $enabled -}}
true
{{- end -}}
{{- end }}

{{/* Not empty if the operator gets a ServiceMonitor. With auto, not without its Service, and not beside its PodMonitor,
which has the same metrics. */}}
{{- define "ragengine.operatorServiceMonitor" -}}
{{- $enabled := .Values.metrics.serviceMonitor.enabled -}}
{{- $isAuto := eq (toString $enabled) "auto" -}}
{{- if not (and $isAuto (or .Values.metrics.podMonitor.enabled (not .Values.metrics.service.enabled))) -}}
{{- include "ragengine.isWanted" (list . $enabled) -}}
{{- end -}}
{{- end }}

{{/* The alert rules, as YAML. With auto, those about the operator only where one of its monitors is: without its
metrics, one of them always fires. */}}
{{- define "ragengine.alerts" -}}
{{- $isAuto := eq (toString .Values.metrics.alerts.enabled) "auto" -}}
{{- $isMonitored := or .Values.metrics.podMonitor.enabled (include "ragengine.operatorServiceMonitor" .) -}}
{{- $groups := list -}}
{{- range (.Files.Get "files/monitoring/alerts.yaml" | fromYaml).groups -}}
{{- if or $isMonitored (not $isAuto) (ne .name "ragengine-operator") -}}
{{- $groups = append $groups . -}}
{{- end -}}
{{- end -}}
{{- toYaml (dict "groups" $groups) -}}
{{- end }}

{{/* Grafana's JSON of the dashboard. */}}
{{- define "ragengine.dashboard" -}}
{{- $datasource := dict "type" "prometheus" "uid" "${datasource}" }}
{{- $engine := `namespace=~"$namespace",service=~"$engine"` }}
{{- $panels := list }}
{{- range $number, $panel := .Files.Get "files/monitoring/dashboard.yaml" | fromYamlArray }}
{{- $targets := list }}
{{- range $panel.queries }}
{{- $query := .expr | replace "$engine" $engine }}
{{- $reference := add 65 (len $targets) | int | printf "%c" }}
{{- $targets = append $targets (dict "datasource" $datasource "expr" $query "legendFormat" .legend "refId" $reference) }}
{{- end }}
{{- $place := dict "w" 12 "h" 8 "x" (mul 12 (mod $number 2)) "y" (mul 8 (div $number 2)) }}
{{- $defaults := dict "unit" $panel.unit "min" 0 "custom" (dict "fillOpacity" 10 "lineWidth" 1) }}
{{- $panels = append $panels (dict
    "id" (add1 $number) "type" "timeseries" "title" $panel.title "datasource" $datasource "gridPos" $place
    "targets" $targets "fieldConfig" (dict "defaults" $defaults "overrides" list)) }}
{{- end }}
{{- $choice := dict "type" "query" "datasource" $datasource "refresh" 2 "multi" true "includeAll" true "allValue" ".*" }}
{{- $variables := list
    (dict "type" "datasource" "name" "datasource" "label" "Data source" "query" "prometheus")
    (merge (dict "name" "namespace" "label" "Namespace" "query" "label_values(ragengine_build_info, namespace)") $choice)
    (merge (dict "name" "engine" "label" "Engine" "query" `label_values(ragengine_build_info{namespace=~"$namespace"}, service)`) $choice) }}
{{- dict
    "uid" "ragengine" "title" "RAGEngine" "tags" (list "ragengine") "schemaVersion" 39 "editable" true
    "time" (dict "from" "now-6h" "to" "now") "refresh" "1m"
    "templating" (dict "list" $variables) "panels" $panels | toPrettyJson }}
{{- end }}
