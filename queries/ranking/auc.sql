-- Area under the curve, pooled: over all pairs of a clicked and an unclicked match, how often the
-- clicked one has the higher score; equal scores count a half.
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
scored AS (
    -- a match that is listed twice has its best score
    SELECT slice, "user", item, max(value) AS value, max(chance) AS chance, max(score) AS score
    FROM shown
    GROUP BY ALL
    HAVING max(value) IS NOT NULL AND max(chance) > 0 AND max(score) IS NOT NULL
)
SELECT z.slice,
       avg(CASE WHEN c.score > o.score THEN 1 WHEN c.score = o.score THEN 0.5 ELSE 0 END)
           FILTER (c.score IS NOT NULL) AS value
FROM slices AS z
LEFT JOIN (
    scored AS c JOIN scored AS o
        ON o.slice IS NOT DISTINCT FROM c.slice AND c.value = 1 AND o.value = 0
) ON c.slice IS NOT DISTINCT FROM z.slice
GROUP BY z.slice
