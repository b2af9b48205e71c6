{{- define "ironward.fullname" -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- $given := ternary .Release.Name (printf "%s-%s" .Release.Name $name) (contains $name .Release.Name) -}}
{{- default $given .Values.fullnameOverride | trunc 52 | trimSuffix "-" -}}
{{- end }}

{{- define "ironward.selector" -}}
app.kubernetes.io/name: {{ default .Chart.Name .Values.nameOverride }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: webhook
{{- end }}

{{- define "ironward.labels" -}}
app.kubernetes.io/name: {{ default .Chart.Name .Values.nameOverride }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{- define "ironward.serviceAccount" -}}
{{- default (include "ironward.fullname" .) .Values.serviceAccount.name -}}
{{- end }}

{{- define "ironward.image" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ default .Chart.AppVersion .Values.image.tag }}
{{- end -}}
{{- end }}

{{/* The Secret that the serving certificate is in. */}}
{{- define "ironward.certificateSecret" -}}
{{- if eq .Values.certificate.mode "secret" -}}
{{ required "certificate.mode is secret: certificate.secret.name must name it" .Values.certificate.secret.name }}
{{- else if eq .Values.certificate.mode "self-signed" -}}
{{ include "ironward.fullname" . }}-self-signed
{{- else -}}
{{ include "ironward.fullname" . }}-tls
{{- end -}}
{{- end }}

{{/* The ConfigMap that the user's policies are in; empty if there are none. */}}
{{- define "ironward.policies" -}}
{{- if and .Values.policies.files .Values.policies.existingConfigMap -}}
{{ fail "policies.files and policies.existingConfigMap are two places for one thing: use one of them" }}
{{- else if .Values.policies.existingConfigMap -}}
{{ .Values.policies.existingConfigMap }}
{{- else if .Values.policies.files -}}
{{ include "ironward.fullname" . }}-policies
{{- end -}}
{{- end }}

{{/* Whether hosts are kept; empty if not. */}}
{{- define "ironward.keepsHosts" -}}
{{- if .Values.hosts.enabled -}}
{{- if ne .Values.profile "standalone" -}}
{{ fail "hosts.enabled is for profile standalone: in profile companion baremetal-operator keeps the hosts" }}
{{- end -}}
{{- if not .Values.ironic.url -}}
{{ fail "hosts.enabled needs ironic.url: where is Ironic?" }}
{{- end -}}
true
{{- end -}}
{{- end }}

{{/* Whether machines are kept; empty if not. */}}
{{- define "ironward.keepsMachines" -}}
{{- if .Values.machines.enabled -}}
{{- if ne .Values.profile "standalone" -}}
{{ fail "machines.enabled is for profile standalone: in profile companion CAPM3 keeps the machines" }}
{{- end -}}
true
{{- end -}}
{{- end }}

{{/* Whether machines that report to Ironic become hosts; empty if not. In either profile: whoever keeps the hosts goes on from there. */}}
{{- define "ironward.discovers" -}}
{{- if .Values.discovery.enabled -}}
{{- if not .Values.ironic.url -}}
{{ fail "discovery.enabled needs ironic.url: where is Ironic?" }}
{{- end -}}
true
{{- end -}}
{{- end }}

{{/* Whether machines are remediated; empty if not. */}}
{{- define "ironward.remediates" -}}
{{- if .Values.remediation.enabled -}}
{{- if ne .Values.profile "standalone" -}}
{{ fail "remediation.enabled is for profile standalone: in profile companion CAPM3 remediates machines" }}
{{- end -}}
true
{{- end -}}
{{- end }}

{{/* Whether Ironic is spoken with; empty if not. */}}
{{- define "ironward.usesIronic" -}}
{{- if or (include "ironward.keepsHosts" .) (include "ironward.discovers" .) -}}
true
{{- end -}}
{{- end }}

{{/* The controllers that run, separated by commas; empty if none does. */}}
{{- define "ironward.controllers" -}}
{{- $controllers := list -}}
{{- if include "ironward.keepsHosts" . }}{{ $controllers = append $controllers "host" }}{{ end -}}
{{- if include "ironward.keepsMachines" . }}{{ $controllers = concat $controllers (list "cluster" "machine" "machine-template") }}{{ end -}}
{{- if include "ironward.remediates" . }}{{ $controllers = append $controllers "remediation" }}{{ end -}}
{{- if include "ironward.discovers" . }}{{ $controllers = append $controllers "discovery" }}{{ end -}}
{{- if .Values.autoscale.enabled }}{{ $controllers = append $controllers "autoscale" }}{{ end -}}
{{- if .Values.metadata.enabled }}{{ $controllers = append $controllers "metadata" }}{{ end -}}
{{- join "," $controllers -}}
{{- end }}

{{/* What Pod Security Admission calls restricted. */}}
{{- define "ironward.podSecurity" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
fsGroup: 65532
seccompProfile: {type: RuntimeDefault}
{{- end }}

{{- define "ironward.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end }}
