// Package helm_test renders the Helm chart of deploy/helm and decodes it into the types of Kubernetes.
package helm_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

const chart = "../../deploy/helm/keepsake"

// render returns the files of the chart by name, as `helm install keepsake` would send them.
func render(values map[string]any) (map[string]string, error) {
	c, err := loader.Load(chart)
	if err != nil {
		return nil, err
	}
	all, err := chartutil.ToRenderValues(c, values, chartutil.ReleaseOptions{Name: "keepsake", Namespace: "search"}, nil)
	if err != nil {
		return nil, err
	}
	files, err := engine.Render(c, all)
	byName := map[string]string{}
	for name, text := range files {
		byName[filepath.Base(name)] = text
	}
	return byName, err
}

func valuesOf(t *testing.T, name string) map[string]any {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(chart, "ci", name+"-values.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]any{}
	if err := yaml.Unmarshal(text, &values); err != nil {
		t.Fatal(err)
	}
	return values
}

func TestTheChartRendersToWhatKubernetesReads(t *testing.T) {
	t.Parallel()
	for name, replicas := range map[string]int32{"one": 1, "several": 3} {
		files, err := render(valuesOf(t, name))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var set appsv1.StatefulSet
		if err := yaml.UnmarshalStrict([]byte(files["statefulset.yaml"]), &set); err != nil {
			t.Fatalf("%s: %v\n%s", name, err, files["statefulset.yaml"])
		}
		services := strings.Split(files["service.yaml"], "\n---\n")
		for _, text := range services {
			var service corev1.Service
			if err := yaml.UnmarshalStrict([]byte(text), &service); err != nil {
				t.Fatalf("%s: %v\n%s", name, err, text)
			}
			if service.Spec.Selector["app.kubernetes.io/instance"] != set.Spec.Template.Labels["app.kubernetes.io/instance"] {
				t.Errorf("%s: the service %s selects no instance", name, service.Name)
			}
		}
		pod := set.Spec.Template.Spec
		c := pod.Containers[0]
		if *set.Spec.Replicas != replicas || len(services) != 2 || !*c.SecurityContext.ReadOnlyRootFilesystem || !*pod.SecurityContext.RunAsNonRoot {
			t.Errorf("%s: %d instances, or not read-only or not without root:\n%s", name, *set.Spec.Replicas, files["statefulset.yaml"])
		}
		if c.LivenessProbe.HTTPGet.Path != "/livez" || c.ReadinessProbe.HTTPGet.Path != "/readyz" || c.ReadinessProbe.HTTPGet.Port.StrVal != "probes" {
			t.Errorf("%s: the probes are\n%s", name, files["statefulset.yaml"])
		}
		secrets := map[string]bool{}
		for _, e := range c.Env {
			secrets[e.Name] = e.ValueFrom != nil && e.ValueFrom.SecretKeyRef.Name == "keepsake"
		}
		if several := name == "several"; secrets["KEEPSAKE_DATABASE_URL"] != several || secrets["KEEPSAKE_REDIS_URL"] != several || (len(pod.Volumes) == 1) != several {
			t.Errorf("%s: the secrets are %v", name, secrets)
		}
	}
}

func TestTheChartRefusesValues(t *testing.T) {
	t.Parallel()
	image := map[string]any{"repository": "registry.example.org/keepsake"}
	for want, values := range map[string]map[string]any{
		"set image.repository":  {},
		"replicas above 1 need": {"image": image, "replicas": 2},
		"replica":               {"image": image, "replica": 2},
		"minimum":               {"image": image, "replicas": 0},
		"KEEPSAK_PUBLIC_URL":    {"image": image, "settings": map[string]any{"KEEPSAK_PUBLIC_URL": "x"}},
		"image":                 {"image": map[string]any{"repo": "x"}},
	} {
		if _, err := render(values); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v; want an error that says %q", values, err, want)
		}
	}
}
