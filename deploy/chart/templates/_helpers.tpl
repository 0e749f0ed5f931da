{{/* The text of config.yaml: the overlay's, with the values' keys over it. */}}
{{- define "appwrapper.configuration" -}}
{{- $overlay := .Files.Get (printf "manifests/overlays/%s/config.yaml" .Values.overlay) | fromYaml -}}
{{- mergeOverwrite $overlay .Values.configuration | toYaml -}}
{{- end -}}

{{/* One document for each object of a text, with further `annotations` and `labels`, if there are any. */}}
{{- define "appwrapper.objects" -}}
{{- $more := pick . "annotations" "labels" -}}
{{- range regexSplit "(?m)^---$" .text -1 }}
{{- $object := fromYaml . }}
{{- if $object.Error }}
{{- fail $object.Error }}
{{- end }}
{{- if $object.kind }}
{{- range $field, $pairs := $more }}
{{- with $pairs }}
{{- $_ := set $object.metadata $field (mergeOverwrite (get $object.metadata $field | default dict) .) }}
{{- end }}
{{- end }}
---
{{ toYaml $object }}
{{- end }}
{{- end }}
{{- end -}}

{{/* A program's Deployment: the manifest with what the values change. */}}
{{- define "appwrapper.deployment" -}}
{{- $values := .root.Values -}}
{{- $object := .root.Files.Get (printf "manifests/base/%s/deployment.yaml" .program) | fromYaml -}}
{{- $_ := set $object.spec "replicas" (index $values.replicas .program) -}}
{{- $pod := $object.spec.template.spec -}}
{{- $container := first $pod.containers -}}
{{- $tag := $values.images.tag | default .root.Chart.AppVersion -}}
{{- $_ := set $container "image" (printf "%s/appwrapper-%s:%s" $values.images.registry .program $tag) -}}
{{- with $values.images.pullSecrets -}}
{{- $secrets := list -}}
{{- range . -}}
{{- $secrets = append $secrets (dict "name" .) -}}
{{- end -}}
{{- $_ := set $pod "imagePullSecrets" $secrets -}}
{{- end -}}
{{/* Both programs read their configuration when they start: another one starts new pods. */}}
{{- $configuration := dict "workload.codeflare.dev/configuration" (include "appwrapper.configuration" .root) -}}
{{- $_ := set $object.spec.template.metadata "annotations" $configuration -}}
{{- if and (eq .program "webhook") (ne $values.certificates "self-managed") -}}
{{- $folder := "/etc/appwrapper-webhook-tls" -}}
{{- $_ := set $container "args" (append $container.args (printf "--cert-dir=%s" $folder)) -}}
{{- $mount := dict "name" "tls" "mountPath" $folder "readOnly" true -}}
{{- $_ := set $container "volumeMounts" (append $container.volumeMounts $mount) -}}
{{- $volume := dict "name" "tls" "secret" (dict "secretName" "appwrapper-webhook-tls") -}}
{{- $_ := set $pod "volumes" (append $pod.volumes $volume) -}}
{{- end -}}
{{ toYaml $object }}
{{- end -}}
