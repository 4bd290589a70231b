-- Effective size: squared sum of the matches' weights (one over the propensity) over the sum of their squares.
WITH listed AS (
    -- recommendations; with repeats = 'drop' a repeated one is left once, with its best score
    SELECT slice, "group", "user", item,
           max(score) AS score, min(rank) AS rank, max(predicted) AS predicted
    FROM recs
    WHERE "user" IS NOT NULL AND item IS NOT NULL
    GROUP BY slice, "group", "user", item,
             CASE WHEN getvariable('repeats') = 'drop' THEN -1 ELSE recs.rowid END
),
truth AS (
    SELECT slice, "user", item, max(value) AS value, max(propensity) AS propensity
    FROM actual
    WHERE "user" IS NOT NULL AND item IS NOT NULL AND value IS NOT NULL
    GROUP BY ALL
),
judged AS (
    SELECT *, EXISTS (SELECT 1 FROM actual AS a
                      WHERE a.slice IS NOT DISTINCT FROM l.slice
                        AND a."user" = l."user" AND a.item = l.item AND a.grade > 0) AS relevant
    FROM listed AS l
),
placed AS (
    SELECT *,
           coalesce(rank, row_number() OVER (
               PARTITION BY slice, "user"
               ORDER BY score DESC NULLS LAST,
                        CASE getvariable('ties')
                            WHEN 'optimistic' THEN (NOT relevant)::INT
                            WHEN 'pessimistic' THEN relevant::INT
                        END,
                        item
           )) AS place,
           rank() OVER (PARTITION BY slice, "user" ORDER BY score DESC NULLS LAST) - 1 AS above,
           count(*) OVER (PARTITION BY slice, "user", score) AS among
    FROM judged
),
shown AS (
    -- the chance that a row is among the first k, and its outcome, told of its first copy alone
    SELECT p.slice, p."group", p."user", p.item, p.score, p.predicted,
           CASE WHEN getvariable('k') IS NULL THEN 1.0
                WHEN getvariable('ties') = 'expected'
                THEN least(1, greatest(0, (getvariable('k') - above) / among))
                ELSE (place <= getvariable('k'))::INT
           END AS chance,
           t.value, t.propensity
    FROM placed AS p
    LEFT JOIN truth AS t
        ON t.slice IS NOT DISTINCT FROM p.slice AND t."user" = p."user" AND t.item = p.item
        AND place = (SELECT min(place) FROM placed AS o
                     WHERE o.slice IS NOT DISTINCT FROM p.slice
                       AND o."user" = p."user" AND o.item = p.item)
),
slices AS (
    SELECT slice FROM recs WHERE "user" IS NOT NULL AND item IS NOT NULL
    UNION
    SELECT slice FROM actual WHERE "user" IS NOT NULL AND item IS NOT NULL
),
weighted AS (
    -- one over the propensity; unless given, the number of items of the slice's ground truth
    SELECT s.*,
           CASE WHEN s.value IS NOT NULL THEN
               CASE WHEN (SELECT bool_or(a.propensity IS NOT NULL) FROM actual AS a)
                    THEN 1.0 / s.propensity
                    ELSE (SELECT count(DISTINCT a.item) FROM actual AS a
                          WHERE a.slice IS NOT DISTINCT FROM s.slice AND a."user" IS NOT NULL)
               END
           END AS weight
    FROM shown AS s
)
SELECT z.slice, pow(sum(s.chance * s.weight), 2) / nullif(sum(s.chance * pow(s.weight, 2)), 0) AS value
FROM slices AS z
LEFT JOIN weighted AS s ON s.slice IS NOT DISTINCT FROM z.slice AND s.chance > 0
GROUP BY z.slice
