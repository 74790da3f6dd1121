package rest

import (
	"context"
	"net/http"

	"github.com/ctrlplane/ctrlplane/control"
	"github.com/ctrlplane/ctrlplane/observe"
)

// speedBody is the body of a PUT to SpeedPath and the answer to it.
type speedBody struct {
	Speed observe.Speed `json:"speed"`
}

func handleSpeed(mux *http.ServeMux, s control.SpeedControl) {
	handleBody(mux, "PUT "+SpeedPath, func(req *http.Request, body speedBody) (any, error) {
		return body, s.SetSpeed(req.Context(), body.Speed)
	})
	handle(mux, "POST "+SpeedPath+"/step", func(req *http.Request) (any, error) { return s.StepKey(req.Context()) })
}

// SpeedControl returns what sets the speed of the control plane.
func (c *Client) SpeedControl() control.SpeedControl { return speedClient{c} }

type speedClient struct{ client *Client }

func (s speedClient) SetSpeed(ctx context.Context, speed observe.Speed) error {
	return s.client.do(ctx, http.MethodPut, SpeedPath, nil, speedBody{speed}, &speedBody{})
}

func (s speedClient) StepKey(ctx context.Context) (key *control.ReleasedKey, err error) {
	err = s.client.do(ctx, http.MethodPost, SpeedPath+"/step", nil, struct{}{}, &key)
	return key, err
}
