-- 1 less the Jensen-Shannon divergence, in bits, of the item groups' shares of the exposure from their targets.
WITH placed AS (
    SELECT *, coalesce(rank, row_number() OVER (
        PARTITION BY slice, "group", "user" ORDER BY score DESC NULLS LAST, item
    )) AS place
    FROM recs
    WHERE "user" IS NOT NULL AND item IS NOT NULL
),
worth AS (
    SELECT p.slice, p."user", p."group", place, i.item_group,
           CASE coalesce(getvariable('discount'), 'log')
               WHEN 'log' THEN 1 / log2(1 + place)
               WHEN 'late_log' THEN 1 / greatest(1, log2(place))
               WHEN 'reciprocal' THEN 1.0 / place
               WHEN 'geometric' THEN pow(coalesce(getvariable('p'), 0.8), place - 1)
           END AS exposure
    FROM placed AS p
    LEFT JOIN items AS i ON i.item = p.item
    WHERE place <= coalesce(getvariable('k'), place)
),
names AS (
    SELECT DISTINCT item_group FROM items WHERE item_group IS NOT NULL
    UNION
    SELECT unnest(json_keys(to_json(getvariable('target'))))
),
wishes AS (
    SELECT item_group,
           CASE WHEN getvariable('target') IS NULL
                THEN (SELECT count(*) FROM items AS i WHERE i.item_group = n.item_group)
                ELSE coalesce((to_json(getvariable('target')) ->> n.item_group)::DOUBLE, 0)
           END AS wanted
    FROM names AS n
),
targets AS (SELECT item_group, wanted / sum(wanted) OVER () AS target FROM wishes),
got AS (
    SELECT z.slice, t.item_group, t.target, coalesce(sum(w.exposure), 0) AS got
    FROM (SELECT DISTINCT slice FROM placed) AS z
    CROSS JOIN targets AS t
    LEFT JOIN worth AS w ON w.slice IS NOT DISTINCT FROM z.slice AND w.item_group = t.item_group
    GROUP BY ALL
),
shares AS (
    SELECT *, got / nullif(sum(got) OVER (PARTITION BY slice), 0) AS share,
           (share + target) / 2 AS middle
    FROM got
)
SELECT slice,
       1 - sum(CASE WHEN share IS NULL THEN NULL WHEN share > 0
                    THEN share * log2(share / middle) ELSE 0 END) / 2
         - sum(CASE WHEN share IS NULL THEN NULL WHEN target > 0
                    THEN target * log2(target / middle) ELSE 0 END) / 2 AS value
FROM shares
GROUP BY slice
