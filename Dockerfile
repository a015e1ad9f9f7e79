# The service with PostgreSQL's driver: `docker build --tag everyword .`
FROM python:3.13-slim AS build
WORKDIR /source
COPY packages/everyword-models packages/everyword-models
COPY pyproject.toml README.md LICENSE NOTICE ./
COPY src src
RUN python -m venv /opt/everyword \
 && /opt/everyword/bin/pip install --no-cache-dir ./packages/everyword-models '.[serve,postgres,otel]'

FROM python:3.13-slim
COPY --from=build /opt/everyword /opt/everyword
# The number, not the name, so that Kubernetes can check that it is not root.
RUN useradd --uid 10001 --user-group --create-home everyword \
 && install --directory --owner everyword --group everyword --mode 700 /data
ENV PATH=/opt/everyword/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    EVERYWORD_MEMORY=/data/memory.db
USER 10001:10001
VOLUME /data
EXPOSE 7330
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s \
  CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:7330/readyz', timeout=4)"]
ENTRYPOINT ["everyword"]
# It does not start before there is a key: `docker run ... everyword keys create NAME --may write --space SPACE`.
CMD ["serve", "--host", "0.0.0.0"]
