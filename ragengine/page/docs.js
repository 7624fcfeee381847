// The API reference: every call of this server, which can be tried out against it.

/* global SwaggerUIBundle */

SwaggerUIBundle({
  url: "/openapi.json",
  domNode: document.getElementById("operations"),
  deepLinking: true,
  docExpansion: "list",
  defaultModelsExpandDepth: 0,
  tryItOutEnabled: true,
  // The badge of a validator would send the address of this server to another host.
  validatorUrl: null,
  presets: [SwaggerUIBundle.presets.apis],
});
