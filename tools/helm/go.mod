module keepsake/tools/helm

go 1.26.6

require (
	go.yaml.in/yaml/v2 v2.4.2 // indirect
	helm.sh/helm/v3 v3.19.2 // indirect
	k8s.io/api v0.34.2 // indirect
	sigs.k8s.io/yaml v1.6.0 // indirect
)
