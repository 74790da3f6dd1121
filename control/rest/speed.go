package rest

import (
	"context"
	"net/http"

	"github.com/ctrlplane/ctrlplane/control"
	"github.com/ctrlplane/ctrlplane/internal/usage"
	"github.com/ctrlplane/ctrlplane/observe"
)

// speedBody is the body of a PUT to SpeedPath and the answer to it.
type speedBody struct {
	Speed observe.Speed `json:"speed"`
}

func handleSpeed(mux *http.ServeMux, s control.SpeedControl) {
	mux.HandleFunc("PUT "+SpeedPath, func(w http.ResponseWriter, req *http.Request) {
		var body speedBody
		err := decodeBody(w, req, &body)
		if err == nil {
			err = s.SetSpeed(req.Context(), body.Speed)
		}
		writeAnswer(w, body, err)
	})
	mux.HandleFunc("POST "+SpeedPath+"/step", func(w http.ResponseWriter, req *http.Request) {
		key, err := s.StepKey(req.Context())
		writeAnswer(w, key, err)
	})
}

// SpeedControl returns what sets the speed of the control plane.
func (c *Client) SpeedControl() control.SpeedControl { return speedClient{c} }

type speedClient struct{ client *Client }

func (s speedClient) SetSpeed(ctx context.Context, speed observe.Speed) error {
	if speed == "" {
		return usage.Errorf("no speed is given")
	}
	return s.client.do(ctx, http.MethodPut, SpeedPath, nil, speedBody{speed}, &speedBody{})
}

func (s speedClient) StepKey(ctx context.Context) (key *control.ReleasedKey, err error) {
	err = s.client.do(ctx, http.MethodPost, SpeedPath+"/step", nil, struct{}{}, &key)
	return key, err
}
