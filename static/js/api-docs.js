// Draws the OpenAPI document into the page. Nothing is fetched from elsewhere: no validator, no fonts.
(() => {
  "use strict";
  const place = document.getElementById("api");
  SwaggerUIBundle({
    url: place.dataset.schema,
    domNode: place,
    deepLinking: true,
    docExpansion: "list",
    defaultModelsExpandDepth: 0,
    displayRequestDuration: true,
    persistAuthorization: false,
    validatorUrl: null,
    requestInterceptor: (request) => {
      const token = document.cookie.match(/(?:^|; )cortex_csrf=([^;]+)/);
      if (token && !request.headers.Authorization) {
        request.headers["X-CSRFToken"] = decodeURIComponent(token[1]);
      }
      return request;
    },
  });
})();
