package backend

import (
	"context"

	"keepsake/internal/web/endpoint"
)

// AddMetrics declares /metrics. write returns the metrics in the text format of Prometheus.
func AddMetrics(r *endpoint.Registry, write func(ctx context.Context) ([]byte, error)) {
	endpoint.Add(r, endpoint.Operation{
		ID: "metrics", Method: "GET", Path: "/metrics", Tag: "metrics", Summary: "Get the metrics of this process",
		Description: "The response is in the text format of Prometheus. Each process reports its own metrics.",
		Status:      200, Uncharged: true, Vital: true,
	}, func(ctx context.Context, _ *struct{}) (*metricsAnswer, error) {
		text, err := write(ctx)
		return &metricsAnswer{Raw: text}, err
	})
}

type metricsAnswer struct {
	Raw []byte `media:"text/plain; version=0.0.4; charset=utf-8"`
}
