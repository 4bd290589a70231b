-- The share of rows whose label is the commonest of their cluster.
WITH unit AS (
    -- A row of weight w stands for w rows.
    SELECT slice, cluster, label, row_number() OVER () AS id
    FROM (SELECT slice, cluster, label, unnest(range(weight::BIGINT)) FROM points)
    WHERE cluster IS NOT NULL AND label IS NOT NULL
),
named AS (
    SELECT slice, id, label,
           CASE WHEN cluster = getvariable('noise') THEN 'row ' || id
                ELSE 'cluster ' || cluster::VARCHAR END AS cluster
    FROM unit
),
cells AS (
    SELECT slice, cluster, label, count(*) AS shared,
           sum(count(*)) OVER (PARTITION BY slice, cluster) AS in_cluster,
           sum(count(*)) OVER (PARTITION BY slice, label) AS of_label
    FROM named
    GROUP BY slice, cluster, label
),
best AS (
    -- The commonest label of every cluster; of equals, the rarer one overall.
    SELECT slice, cluster, shared, in_cluster, of_label
    FROM cells
    QUALIFY row_number() OVER (PARTITION BY slice, cluster ORDER BY shared DESC, of_label) = 1
),
found AS (
    SELECT slice, sum(shared) / sum(in_cluster) AS share FROM best GROUP BY slice
)
SELECT every.slice, share AS value
FROM (SELECT DISTINCT slice FROM points) AS every
LEFT JOIN found AS found ON found.slice IS NOT DISTINCT FROM every.slice
