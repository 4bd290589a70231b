-- Consistency: one less the mean distance between a row's decision and the mean decision of the
-- n_neighbors rows nearest to it, itself among them. Rows at one distance share the places left.
WITH known AS (
    SELECT row_number() OVER () AS id, slice, pred::INT AS decision, features
    FROM rows
    WHERE pred IS NOT NULL AND features IS NOT NULL
),
pairs AS (
    SELECT one.id, other.decision,
           rank() OVER (PARTITION BY one.id ORDER BY distance) AS place,
           count(*) OVER (PARTITION BY one.id, distance) AS sharing
    FROM known AS one
    JOIN known AS other
        ON one.slice IS NOT DISTINCT FROM other.slice AND one.id <> other.id,
    LATERAL (SELECT list_distance(one.features, other.features) AS distance)
),
others AS (
    -- the first place is the row's own
    SELECT id,
           sum(decision * greatest(0, least(1, (coalesce(getvariable('n_neighbors'), 5) - place)
                                               / sharing))) AS total
    FROM pairs
    GROUP BY id
),
each AS (
    SELECT slice, decision,
           (decision + coalesce(total, 0)) / coalesce(getvariable('n_neighbors'), 5) AS near
    FROM known LEFT JOIN others USING (id)
)
SELECT rows.slice,
       CASE WHEN (SELECT count(*) FROM known WHERE known.slice IS NOT DISTINCT FROM rows.slice)
                 >= coalesce(getvariable('n_neighbors'), 5)
            THEN (SELECT 1 - avg(abs(decision - near)) FROM each
                  WHERE each.slice IS NOT DISTINCT FROM rows.slice)
       END AS value
FROM (SELECT DISTINCT slice FROM rows) AS rows
